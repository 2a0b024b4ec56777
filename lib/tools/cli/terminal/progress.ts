import type { Output } from './output.ts';
import type { Terminal } from './terminal.ts';

const CLEAR_LINE = '\r\u001b[K';

export function createProgress(terminal: Terminal, output: Output, doing: string, total?: number) {
  const isShown = terminal.isInteractive && !output.isJson;
  const of = total === undefined ? '' : ` of ${total.toLocaleString('en-US')}`;
  const show = (text: string) => isShown && process.stderr.write(CLEAR_LINE + text);
  return {
    update: (done: number): void => void show(`${doing} ${done.toLocaleString('en-US')}${of}`),
    end: (): void => void show(''),
  };
}
