import pg from 'pg';

/** A pool whose broken sessions are replaced in silence: the server is stopped while sessions are idle. */
export function poolOf(connectionString: string | undefined, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString, max });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}
