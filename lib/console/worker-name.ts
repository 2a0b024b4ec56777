/** A lease's owner is `<worker>/<random>`, new for each claim: the worker's part tells who it is. */
export const workerOf = (leaseOwner: string): string => {
  const slash = leaseOwner.lastIndexOf('/');
  return slash === -1 ? leaseOwner : leaseOwner.slice(0, slash);
};
