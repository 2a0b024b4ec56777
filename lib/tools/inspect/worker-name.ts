/** A claim's owner is `<worker>/<random>`: the worker is what stands before the last slash, if anything does. */
export const workerOf = (leaseOwner: string): string => {
  const slash = leaseOwner.lastIndexOf('/');
  return slash <= 0 ? leaseOwner : leaseOwner.slice(0, slash);
};

/** `<host>-<pid>-<random>` without the host's domain, which is long and the same for all. A host may be an IP address. */
export const shortWorkerOf = (leaseOwner: string): string =>
  workerOf(leaseOwner).replace(/^([a-zA-Z][\w-]*)\.[\w.-]*?(-\d+-[\w-]+)$/, '$1$2');

/** On this machine a worker is known by its process id, which is part of its name: `<host>-<pid>-<random>`. */
export const processOf = (worker: string): string | undefined => {
  const [, pid] = /-(\d+)-[\w-]+$/.exec(worker) ?? [];
  return pid === undefined ? undefined : `process ${pid}`;
};
