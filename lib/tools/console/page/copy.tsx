import { useState } from 'preact/hooks';
import { CopyIcon } from './icons.tsx';
import { toast } from './state.ts';

const SAID_MS = 1_500;

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), SAID_MS);
    } catch {
      toast({
        ok: false,
        message: `The browser does not allow copying; select ${what} and copy it yourself`,
      });
    }
  };
  return (
    <span class="copy-box">
      <button type="button" class="copy" onClick={copy} title={`Copy ${what}`} aria-label={`Copy ${what}`}>
        <CopyIcon />
      </button>
      <span aria-live="polite">{isCopied ? 'copied' : ''}</span>
    </span>
  );
}
