/** Only these styles pass: black, backgrounds or `hidden` could make text invisible. */
const COLOR = `${String.fromCodePoint(0x1b)}\\[(?:0|1|2|22|3[1-69])m`;
/** Control and bidi characters may come from a job, a message or AWS. */
const CONTROLS = new RegExp(`(${COLOR})|[\\p{Cc}\\p{Bidi_Control}\\u2028\\u2029]`, 'gu');
const KEPT = ['\n', '\t'];

/** Escapes control characters, so that outside text cannot move the cursor, set a title or hide output. */
export const printable = (text: string, hasColors: boolean): string =>
  text.replace(CONTROLS, (match, color: string | undefined) =>
    KEPT.includes(match) || (color !== undefined && hasColors) ? match : spelledOut(match),
  );

const spelledOut = (text: string): string =>
  [...text]
    .map((each) => {
      const code = each.codePointAt(0) ?? 0;
      return code < 0x20 || code >= 0x7f ? `\\u${code.toString(16).padStart(4, '0')}` : each;
    })
    .join('');
