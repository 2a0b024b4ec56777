/**
 * Replaces what the SDK's clients import and no function of Leasehold can come to use: endpoint discovery (off unless it is
 * asked for), signatures for several regions at once (global endpoints of EventBridge), and event streams. A cell has the SDK as it
 * is: a handler may use all of it.
 */
export const NODE_ENDPOINT_DISCOVERY_CONFIG_OPTIONS = {
  environmentVariableSelector: () => false,
  configFileSelector: () => false,
  default: false,
};

export const resolveEndpointDiscoveryConfig = <T extends object>(input: T) =>
  Object.assign(input, {
    endpointDiscoveryEnabled: async () => false,
    isClientEndpointDiscoveryEnabled: false,
  });

export { SignatureV4 as SignatureV4MultiRegion } from '@smithy/signature-v4';
