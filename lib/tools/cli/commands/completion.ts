import { script } from '@bomb.sh/tab';
import { Argument, Command } from 'commander';
import { exitCodes } from '../cli-error.ts';
import { type CliContext, withExamples } from '../define-command.ts';

const shells = ['bash', 'zsh', 'fish', 'powershell'] as const;
type Shell = (typeof shells)[number];

export function createCommand({ terminal, end }: CliContext): Command {
  const command = new Command('completion')
    .description('print a script for Tab completion; sourcing it again does no harm')
    .addArgument(new Argument('<shell>', 'your shell').choices(shells))
    .action((shell: Shell) => {
      terminal.write(`${scriptFor(shell)}\n`);
      end(exitCodes.ok);
    });
  return withExamples(
    command,
    'source <(leasehold completion bash)     # in ~/.bashrc; zsh likewise',
    'leasehold completion fish > ~/.config/fish/completions/leasehold.fish',
    'leasehold completion powershell | Out-String | Invoke-Expression',
  );
}

/** Makes the library's script safe to source twice and independent of other packages. */
function scriptFor(shell: Shell): string {
  const text = printedBy(() => script(shell, 'leasehold', 'leasehold'));
  return shell === 'bash' ? `${WITHOUT_BASH_COMPLETION}\n${text.replaceAll(/^readonly /gm, '')}` : text;
}

/** Plain bash lacks this function of the package bash-completion. */
const WITHOUT_BASH_COMPLETION = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
    words=("\${COMP_WORDS[@]}")
    cword=$COMP_CWORD
    cur=\${words[cword]}
    prev=\${words[cword - 1]}
}
`;

/** The library can only print its script. */
function printedBy(print: () => void): string {
  const { log } = console;
  const lines: string[] = [];
  console.log = (...texts: unknown[]) => void lines.push(texts.join(' '));
  try {
    print();
  } finally {
    console.log = log;
  }
  return lines.join('\n');
}
