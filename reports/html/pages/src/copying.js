// Buttons that copy the text next to them.

export function startCopying() {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    const source = document.getElementById(button.dataset.copy);
    const word = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      button.textContent = (await copied(source)) ? "Copied" : "Select and copy";
      setTimeout(() => {
        button.textContent = word;
      }, 2000);
    });
  }
}

/** Copy a text; where file:// pages may not use the clipboard, select it. */
async function copied(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    window.getSelection().selectAllChildren(source);
    return document.execCommand("copy");
  }
}
