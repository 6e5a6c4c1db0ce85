// Text that others wrote, made safe to look at. Pure functions.

/**
 * Characters that have no look of their own but change what stands around them: control characters
 * (line breaks and tabs are left), marks that turn the direction of text, zero-width ones that hide
 * in identifiers, lone surrogates. Joiners (U+200C, U+200D) are left: scripts and emoji need them.
 */
const hidden =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** A piece of text; `code` where it stands for a hidden character. */
export interface Piece {
  text: string;
  code: boolean;
}

function name(character: string): string {
  return "U+" + character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
}

/** Cuts text into plain pieces and the names of its hidden characters. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(hidden)) {
    if (match.index > from) found.push({ text: text.slice(from, match.index), code: false });
    found.push({ text: name(match[0]), code: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), code: false });
  return found;
}

/** The same as one string, for tooltips and titles: hidden characters as [U+202E]. */
export function visible(text: string): string {
  return text.replace(hidden, (c) => `[${name(c)}]`);
}

/** At most `most` UTF-16 units of text, never half a character. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}
