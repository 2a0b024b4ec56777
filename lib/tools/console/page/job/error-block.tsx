import type { WhyFailed } from '../../../inspect/why-failed.ts';
import { CopyButton } from '../copy.tsx';

/** The lines of a stack: what the error says, and where it was thrown. `caused by` begins another of both. */
interface ErrorPart {
  readonly says: string;
  readonly frames: readonly string[];
}

/** What an error's text is made of. */
function partsOf(text: string): ErrorPart[] {
  const parts: { says: string[]; frames: string[] }[] = [];
  for (const line of text.split('\n')) {
    const isFrame = /^\s+at /.test(line);
    const last = parts.at(-1);
    if (last === undefined || line.startsWith('caused by ') || (!isFrame && last.frames.length > 0))
      parts.push({ says: isFrame ? [] : [line], frames: isFrame ? [line.trim()] : [] });
    else if (isFrame) last.frames.push(line.trim());
    else last.says.push(line);
  }
  return parts.map(({ says, frames }) => ({ says: says.join('\n'), frames }));
}

/** Code of libraries and of Node itself, which is seldom where to look first. */
const isForeign = (frame: string): boolean => /node_modules|node:internal|\(node:/.test(frame);

/** Why a job failed: which limit it met, the error with its stack, and what to do about it. */
export function ErrorBlock(props: { readonly failure?: WhyFailed; readonly text: string }) {
  const { failure, text } = props;
  return (
    <section class="failure" data-is-end={failure !== undefined} aria-labelledby="failure-title">
      <header>
        <h3 id="failure-title">{failure?.says ?? 'Last error'}</h3>
        <CopyButton text={text} what="the error" />
      </header>
      {partsOf(text).map((part, i) => (
        <ErrorPartView key={i} part={part} />
      ))}
      {failure !== undefined && <p class="advice">{failure.advice}</p>}
    </section>
  );
}

function ErrorPartView({ part: { says, frames } }: { readonly part: ErrorPart }) {
  return (
    <>
      {says !== '' && <p class="error-says">{says}</p>}
      {frames.length > 0 && (
        <details class="stack">
          <summary>
            <span class="frame">{frames.find((frame) => !isForeign(frame)) ?? frames[0]}</span>
            {frames.length > 1 && <span class="muted"> and {frames.length - 1} more lines</span>}
          </summary>
          <ol>
            {frames.map((frame, i) => (
              <li key={i} class="frame" data-foreign={isForeign(frame)}>
                {frame}
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}
