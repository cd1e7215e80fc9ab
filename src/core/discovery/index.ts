export {
  addressOf,
  type Endpoint,
  type LeftOutReason,
  leftOutReasons,
  type LeftOutTask,
  plainHost,
  routeOf,
  type ServiceEndpoints,
  serviceEndpoints,
  type ServiceRoute,
  type ServiceTask,
} from './endpoints.js';
export { type ProxiedService, type ProxyFormat, proxyFormats, proxyText } from './formats.js';
export { dnsAnswer, type DnsAnswer, type DnsName, type DnsRecord, readDnsName } from './names.js';
