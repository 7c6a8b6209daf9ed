// Buttons that copy what stands beside them.

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

/** Pages from disk may not use the clipboard everywhere; then the text is selected. */
async function copied(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    window.getSelection().selectAllChildren(source);
    return document.execCommand("copy");
  }
}
