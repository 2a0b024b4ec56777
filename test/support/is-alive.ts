/** Whether there is such a process, or with a negative number such a group of processes. */
export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
