import type { WhyFailed } from '../../../inspect/why-failed.ts';
import { CopyButton } from '../copy.tsx';

/** `caused by` starts another part. */
interface ErrorPart {
  readonly headline: string;
  readonly frames: readonly string[];
}

function partsOf(text: string): ErrorPart[] {
  const parts: { headline: string[]; frames: string[] }[] = [];
  for (const line of text.split('\n')) {
    const isFrame = /^\s+at /.test(line);
    const last = parts.at(-1);
    if (last === undefined || line.startsWith('caused by ') || (!isFrame && last.frames.length > 0))
      parts.push({ headline: isFrame ? [] : [line], frames: isFrame ? [line.trim()] : [] });
    else if (isFrame) last.frames.push(line.trim());
    else last.headline.push(line);
  }
  return parts.map(({ headline, frames }) => ({ headline: headline.join('\n'), frames }));
}

const isForeign = (frame: string): boolean => /node_modules|node:internal|\(node:/.test(frame);

export function ErrorBlock(props: {
  readonly failure?: WhyFailed;
  readonly text: string;
  readonly errorOf?: number;
}) {
  const { failure, text, errorOf } = props;
  const title = errorOf === undefined ? 'Last error' : `Error of attempt ${errorOf}`;
  return (
    <section class="failure" data-is-end={failure !== undefined} aria-labelledby="failure-title">
      <header>
        <h3 id="failure-title">{failure?.message ?? title}</h3>
        <CopyButton text={text} what="the error" />
      </header>
      {partsOf(text).map((part, i) => (
        <ErrorPartView key={i} part={part} />
      ))}
      {failure !== undefined && <p class="advice">{failure.advice}</p>}
    </section>
  );
}

function ErrorPartView({ part: { headline, frames } }: { readonly part: ErrorPart }) {
  return (
    <>
      {headline !== '' && <p class="error-headline">{headline}</p>}
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
