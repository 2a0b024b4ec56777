import { startSqs } from '../../lib/tools/dev/engines/sqs-engine.ts';

// Lives as long as its parent keeps the pipe open.
const { endpoint } = await startSqs();
process.stdout.write(`${endpoint}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
