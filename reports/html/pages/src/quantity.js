// Formatting of quantities, as in reports/text.py.

const PREFIXES = [
  [1, ""],
  [1e-3, "m"],
  [1e-6, "µ"],
  [1e-9, "n"],
];
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Format a value in m, rad, "rad or m", or 1 for a ratio. */
export function quantity(value, unit) {
  if (value === 0 || !Number.isFinite(value)) {
    return String(value).replace("Infinity", "inf").replace("NaN", "nan");
  }
  const number = Math.abs(value) >= 100 ? value : Number(value.toPrecision(2));
  if (unit === "1") {
    const size = Math.abs(number);
    if (size < 1e-3) return plain(number, "");
    if (size >= 1e4) return plain(number * 100, "%");
    return `${decimal(number * 100).replace(/\B(?=(\d{3})+$)/, ",")} %`;
  }
  for (const [factor, prefix] of PREFIXES) {
    const mantissa = number / factor;
    if (Math.abs(mantissa) >= 0.1 * (1 - 1e-9)) {
      return plain(
        mantissa,
        unit.split(" or ").map((one) => prefix + one).join(" or "),
      );
    }
  }
  return plain(number, unit);
}

function plain(number, unit) {
  const size = Math.abs(number);
  const suffix = unit ? `\u00a0${unit}` : "";
  if (size >= 1e-3 && size < 1e6) return decimal(number) + suffix;
  const [mantissa, exponent] = number.toExponential(1).split("e");
  const power = String(Number(exponent))
    .replace("-", "⁻")
    .replace(/\d/g, (digit) => SUPERSCRIPTS[digit]);
  return `${mantissa.replace(".0", "")}×10${power}${suffix}`;
}

function decimal(number) {
  const digits = Math.max(0, 1 - Math.floor(Math.log10(Math.abs(number))));
  const text = number.toFixed(digits);
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact" });

/** Format an integer in at most four characters; empty for other numbers. */
export function counted(number) {
  return Number.isInteger(number) ? COMPACT.format(number) : "";
}
