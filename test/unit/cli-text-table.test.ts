import fc from 'fast-check';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { widthOf, wrapText } from '../../lib/tools/cli/terminal/fit-text.ts';
import { type Column, renderTable } from '../../lib/tools/cli/terminal/text-table.ts';

const colors = pc.createColors(false);
const columns: readonly Column[] = [
  { title: 'JOB', min: 8, cut: 'middle' },
  { title: 'N', right: true, leaveOut: 2 },
  { title: 'OWNER', min: 6, cut: 'middle', leaveOut: 1 },
  { title: 'STATE', min: 10 },
];
const rows = [
  ['invoice-2026-11', '1', 'ip-10-0-13-207', 'lease ends in 30 s'],
  ['short', '12', '', 'done'],
];
const render = (width: number) => {
  const { text, leftOut } = renderTable({ columns, rows }, width, colors);
  return { lines: text.split('\n'), leftOut };
};

describe('a table', () => {
  it('is as wide as its texts where there is room', () => {
    expect(render(Number.POSITIVE_INFINITY)).toEqual({
      lines: [
        'JOB               N  OWNER           STATE',
        'invoice-2026-11   1  ip-10-0-13-207  lease ends in 30 s',
        'short            12                  done',
      ],
      leftOut: [],
    });
    expect(render(55)).toEqual(render(Number.POSITIVE_INFINITY));
  });

  it('cuts the widest columns first, and leaves columns out when that is not enough', () => {
    expect(render(54).lines[1]).toBe('invoice-2026-11   1  ip-10-0-13-207  lease ends in 30…');
    expect(render(40).lines[1]).toBe('invoic…-11   1  ip-10-0…207  lease ends…');
    expect(render(30)).toEqual({
      lines: ['JOB            N  STATE', 'invoice-…-11   1  lease ends …', 'short         12  done'],
      leftOut: ['OWNER'],
    });
    expect(render(20).leftOut).toEqual(['N', 'OWNER']);
  });

  it('keeps within the screen whatever is in it, and keeps its columns in line', () => {
    const cell = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.constantFrom(
        'a\u001b[31mb\u001b[2J',
        'two\nlines\there',
        '\u202egnp',
        '👨‍👩‍👧 family',
        '日本語'.repeat(9),
      ),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell, cell), { maxLength: 5 }),
        fc.integer({ min: 12, max: 120 }),
        (cells, width) => {
          const { text } = renderTable({ columns, rows: cells }, width, colors);
          const lines = text.split('\n');
          expect(lines).toHaveLength(cells.length + 1);
          for (const line of lines) {
            expect(widthOf(line)).toBeLessThanOrEqual(width);
            // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
            expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
          }
        },
      ),
    );
  });
});

describe('a text that is too long', () => {
  it('is wrapped to the width it is given, and loses nothing', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), fc.integer({ min: 2, max: 60 }), (text, width) => {
        const lines = wrapText(text, width);
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(Math.max(width, 2));
        expect(lines.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
      }),
    );
  });
});
