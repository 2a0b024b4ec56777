import measure from 'fast-string-truncated-width';

/** Wide characters take two columns, colors none. */
export const widthOf = (text: string): number => measure(text).width;

const segmenter = new Intl.Segmenter();
const lettersOf = (text: string): string[] => Array.from(segmenter.segment(text), ({ segment }) => segment);

function fitting(letters: Iterable<string>, width: number): string {
  let text = '';
  let taken = 0;
  for (const letter of letters) {
    taken += widthOf(letter);
    if (taken > width) break;
    text += letter;
  }
  return text;
}

export const cutEnd = (text: string, width: number): string =>
  widthOf(text) <= width ? text : `${fitting(lettersOf(text), width - 1)}…`;

export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const letters = lettersOf(text);
  const backwards = lettersOf(fitting(letters.toReversed(), Math.floor((width - 1) / 3)));
  const tail = letters.slice(letters.length - backwards.length).join('');
  return `${fitting(letters, width - 1 - widthOf(tail))}…${tail}`;
}

export function wrapText(text: string, width: number): string[] {
  if (width === Number.POSITIVE_INFINITY) return text.split('\n');
  // A tab's width depends on its position.
  const lines = text.replaceAll('\t', '    ').split('\n');
  return lines.flatMap((line) => (widthOf(line) <= width ? [line] : wrapLine(line, width)));
}

function wrapLine(text: string, width: number): string[] {
  const [indent = ''] = /^ */.exec(text) ?? [];
  const margin = indent.length < width / 2 ? indent : '';
  const lines: string[] = [];
  let line = margin;
  for (const word of text.trim().split(' ')) {
    const longer = line.trim() === '' ? line + word : `${line} ${word}`;
    if (widthOf(longer) <= width) {
      line = longer;
      continue;
    }
    if (line.trim() !== '') lines.push(line);
    line = margin + word;
    while (widthOf(line) > width) {
      // At least one letter, so that it ends even if a letter is wider than the line.
      const [first = ''] = lettersOf(line);
      const part = fitting(lettersOf(line), width) || first;
      lines.push(part);
      line = margin + line.slice(part.length);
    }
  }
  return [...lines, line];
}
