/** A lease owner is `<worker>/<random>`. */
export const workerOf = (leaseOwner: string): string => {
  const slash = leaseOwner.lastIndexOf('/');
  return slash <= 0 ? leaseOwner : leaseOwner.slice(0, slash);
};

/** `<host>-<pid>-<random>` without the host's domain; the host may be an IP address. */
export const shortWorkerOf = (leaseOwner: string): string =>
  workerOf(leaseOwner).replace(/^([a-zA-Z][\w-]*)\.[\w.-]*?(-\d+-[\w-]+)$/, '$1$2');

export const processOf = (worker: string): string | undefined => {
  const [, pid] = /-(\d+)-[\w-]+$/.exec(worker) ?? [];
  return pid === undefined ? undefined : `process ${pid}`;
};
