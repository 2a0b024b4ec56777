/** A colour as picocolors writes it; a control character, or one that turns the text around. They may come from a job, a message or AWS. */
const ESCAPE = String.fromCodePoint(0x1b);
const CONTROLS = new RegExp(`(${ESCAPE}\\[\\d{1,2}m)|[\\p{Cc}\\p{Bidi_Control}\\u2028\\u2029]`, 'gu');
const KEPT = ['\n', '\t'];

/**
 * The text with every control character spelled out, but for line ends, tabs and, on a screen with colours, those. Text from
 * outside cannot move a cursor, set a title or hide what is on a screen.
 */
export const printable = (text: string, hasColours: boolean): string =>
  text.replace(CONTROLS, (match, colour: string | undefined) =>
    KEPT.includes(match) || (colour !== undefined && hasColours) ? match : spelledOut(match),
  );

const spelledOut = (text: string): string =>
  [...text]
    .map((each) => {
      const code = each.codePointAt(0) ?? 0;
      return code < 0x20 || code >= 0x7f ? `\\u${code.toString(16).padStart(4, '0')}` : each;
    })
    .join('');
