import { createInterface } from 'node:readline/promises';

export async function ask(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<boolean> {
  const lines = createInterface({ input, output });
  const leaving = new AbortController();
  for (const event of ['SIGINT', 'close']) lines.once(event, () => leaving.abort());
  try {
    const answer = await lines.question(`${question} [y/N] `, { signal: leaving.signal });
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
    output.write('\n');
    return false;
  } finally {
    lines.close();
  }
}
