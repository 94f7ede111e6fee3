// Numbers as drr/charts/words.py writes them; every digit has to be the one that Python prints.

export const BLANK = "\u00a0";

/** A whole number with separators. */
export function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** `value` with so many decimals; exact halves go to the even digit, as in Python. */
export function fixed(value, decimals) {
  const text = value.toFixed(decimals);
  const doubled = value * 2 ** (decimals + 1);
  if (Number.isInteger(doubled) && doubled % 2 !== 0) {
    // A half in the last place is exact only where the value is a multiple of 2 ** -(decimals + 1): both sides exist.
    const scale = 10 ** decimals;
    const low = Math.floor(value * scale);
    if (value * scale - low === 0.5) return ((low % 2 === 0 ? low : low + 1) / scale).toFixed(decimals);
  }
  return text;
}

/** Milliseconds with one decimal and separators. */
export function timeText(ms) {
  const [whole, part] = fixed(ms, 1).split(".");
  return `${grouped(whole)}.${part} ms`;
}

/** Three significant digits, no zeros at the end. */
function threeDigits(value) {
  const before = Math.floor(value) >= 100 ? 3 : Math.floor(value) >= 10 ? 2 : 1;
  const text = fixed(value, 3 - before);
  if (Number(text) >= 1000) return "1e+03";
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Tokens in few characters: exact below ten million, else three digits and a power. */
export function tokensText(tokens) {
  const number = Number(tokens);
  const size = Math.abs(number);
  if (size < 1e7) return grouped(tokens);
  const sign = number < 0 ? "-" : "";
  if (size < 1e9) return `${sign}${threeDigits(size / 1e6)} million`;
  if (size < 1e12) return `${sign}${threeDigits(size / 1e9)} billion`;
  return exponential(number).replace("e+", "e");
}

/** Two decimals and a power of ten, exact halves to the even digit. */
function exponential(number) {
  const text = number.toExponential(2);
  const power = Number(text.split("e+")[1]);
  const unit = 10n ** BigInt(power - 2);
  const exact = BigInt(Math.abs(number));
  if (exact % unit === unit / 2n) {
    const digits = exact / unit;
    const even = digits % 2n === 0n ? digits : digits + 1n;
    return `${number < 0 ? "-" : ""}${(Number(even) / 100).toFixed(2)}e+${power}`;
  }
  return text;
}
