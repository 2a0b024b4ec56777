const LONGEST = 64;

/** The EventBridge Scheduler group of a deployment: its service name, within the limits of a group name. */
export const scheduleGroupOf = (serviceName: string): string =>
  serviceName.replace(/[^0-9A-Za-z_.-]/g, '-').slice(-LONGEST);

/** Tags of the group, by which the command line finds the rest of a deployment. */
export const deploymentTags = {
  tableName: 'leasehold:table',
  queueUrl: 'leasehold:queue',
  eventBusName: 'leasehold:event-bus',
} as const;

/** What the tags of a deployment's group say. */
export type Deployment = Readonly<Record<keyof typeof deploymentTags, string | undefined>>;
