import { format } from 'node:util';

/**
 * JSON logging of Lambda, in the process that it starts and not in those below: the runtime's console, and the filter by level.
 * https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
 */
const levels = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'];
const { AWS_LAMBDA_LOG_FORMAT, AWS_LAMBDA_LOG_LEVEL = 'INFO' } = process.env;
const methods = { trace: 'TRACE', debug: 'DEBUG', log: 'INFO', info: 'INFO', warn: 'WARN', error: 'ERROR' };

/** Lines without a level or a timestamp count as INFO. */
function levelOf(line: string): string {
  try {
    const { level, timestamp } = JSON.parse(line);
    return levels.includes(level) && Number.isFinite(Date.parse(timestamp)) ? level : 'INFO';
  } catch {
    return 'INFO';
  }
}

const isKept = (line: string) => levels.indexOf(levelOf(line)) >= levels.indexOf(AWS_LAMBDA_LOG_LEVEL);

if (AWS_LAMBDA_LOG_FORMAT === 'JSON' && process.channel === undefined) {
  const { stdout } = process;
  const write = stdout.write.bind(stdout) as (text: string, ...rest: unknown[]) => boolean;
  stdout.write = (chunk: unknown, ...rest: unknown[]) => {
    const kept = String(chunk).split('\n').filter(isKept);
    return write(kept.map((line) => `${line}\n`).join(''), ...rest);
  };
  for (const [method, level] of Object.entries(methods))
    console[method as 'log'] = (...args) =>
      void stdout.write(
        JSON.stringify({ timestamp: new Date().toISOString(), level, message: format(...args) }),
      );
}
