import type { Int32, Int64 } from '../schema.js';

/** What the page is told about this installation. Texts that are not set are empty. */
export interface IndexView {
  /** Memory in MB of a task whose deploy names none. */
  defaultMemory: Int32;
  /** Cores of such a task, a part of one counted as one. */
  defaultCpus: Int32;
  /** Disk in MB of such a task. */
  defaultDisk: Int32;
  /** Port at which machines serve files. */
  slaveHttpPort: Int32;
  /** The same with TLS. */
  slaveHttpsPort?: Int32;
  /** Minutes after which a bounce is given up. */
  defaultBounceExpirationMinutes: Int32;
  /** Seconds between two health checks. */
  defaultHealthcheckIntervalSeconds: Int64;
  /** Seconds for one health check. */
  defaultHealthcheckTimeoutSeconds: Int64;
  /** Failed health checks that are tolerated; 0: any number. */
  defaultHealthcheckMaxRetries: Int32;
  /** Seconds in which connection refusals are tolerated. */
  defaultStartupTimeoutSeconds: Int32;
  /** Share of its expected run time, in percent, beyond which a run is pointed out. */
  warnIfScheduledJobIsRunningPastNextRunPct: Int32;
  /** Path of the page itself. */
  appRoot: string;
  /** Where the API is described. */
  apiDocs: string;
  /** Where scripts and styles are. */
  staticRoot: string;
  /** Where the API is. */
  apiRoot: string;
  /** Colour by which people tell clusters apart. */
  navColor: string;
  /** Offer no new deploys. */
  hideNewDeployButton: boolean;
  /** Offer no new requests. */
  hideNewRequestButton: boolean;
  /** There is a load balancer. */
  loadBalancingEnabled: boolean;
  /** Title of the page. */
  title: string;
  /** Log of a running task; $TASK_ID stands for its id. */
  runningTaskLogPath: string;
  /** Log of a task that has ended. */
  finishedTaskLogPath: string;
  /** End of host names that is not shown. */
  commonHostnameSuffixToOmit: string;
  /** Begin of the names of stored logs that is not shown. */
  taskS3LogOmitPrefix: string;
  /** Commands that may be run in tasks, as JSON. */
  shellCommands: string;
  /** Show only the first part of the names of hosts. */
  shortenSlaveUsageHostname: boolean;
  /** How times are written. */
  timestampFormat: string;
  /** Show the disk that tasks ask for. */
  showTaskDiskResource: boolean;
  /** How times with seconds are written. */
  timestampWithSecondsFormat: string;
  /** Where people go to log in; {URL} stands for the address they came from. */
  redirectOnUnauthorizedUrl: string;
  /** Address of a further script of this origin. */
  extraScript: string;
  /** Send the token of the cookie as Authorization: Bearer. */
  generateAuthHeader: boolean;
  /** Cookie that says who calls. */
  authCookieName: string;
  /** Member of the JSON in that cookie which holds the token. */
  authTokenKey: string;
  /** Links on the pages of requests, as JSON. */
  quickLinks: string;
  /** Links to other clusters, as JSON. */
  navTitleLinks: string;
  /** Where logs can be read in a terminal. */
  lessTerminalPath: string;
  /** Name of the page's script below staticRoot; changes with its content. */
  appJsPath: string;
  /** Name of the page's styles. */
  appCssPath: string;
  /** Name of the script that the page's script builds on. */
  vendorJsPath: string;
}
