import { ApiProperty } from '@nestjs/swagger';
import { Since } from '../../../platform/http/since.js';

const int32 = { type: 'integer', format: 'int32' } as const;
const int64 = { type: 'integer', format: 'int64' } as const;

/** Data of this installation for the page. Texts that are not set are empty. */
export class IndexViewDto {
  /** Path of the page itself. */
  appRoot: string;
  /** Address of the description of the API. */
  apiDocs: string;
  /** Address of the guide, the pages of this documentation. */
  @Since('muster')
  guideRoot: string;
  /** Address of scripts and styles. */
  staticRoot: string;
  /** Address of the API. */
  apiRoot: string;
  /** Colour by which people tell clusters apart. */
  navColor: string;
  /** Memory in MB of a task whose deploy names none. */
  @ApiProperty(int32)
  defaultMemory: number;
  /** Cores of such a task, a part of one counted as one. */
  @ApiProperty(int32)
  defaultCpus: number;
  /** Disk in MB of such a task. */
  @ApiProperty(int32)
  defaultDisk: number;
  /** Offer no new deploys. */
  hideNewDeployButton: boolean;
  /** Offer no new requests. */
  hideNewRequestButton: boolean;
  /** There is a load balancer. */
  loadBalancingEnabled: boolean;
  /** Title of the page. */
  title: string;
  /** Port at which machines serve files. */
  @ApiProperty(int32)
  slaveHttpPort: number;
  /** Port of the agent with TLS. */
  @ApiProperty(int32)
  slaveHttpsPort?: number;
  /** Minutes after which a bounce is given up. */
  @ApiProperty(int32)
  defaultBounceExpirationMinutes: number;
  /** Seconds between two health checks. */
  @ApiProperty(int64)
  defaultHealthcheckIntervalSeconds: number;
  /** Seconds for one health check. */
  @ApiProperty(int64)
  defaultHealthcheckTimeoutSeconds: number;
  /** Failed health checks that are tolerated; 0: any number. */
  @ApiProperty(int32)
  defaultHealthcheckMaxRetries: number;
  /** Seconds in which connection refusals are tolerated. */
  @ApiProperty(int32)
  defaultStartupTimeoutSeconds: number;
  /** Log of a running task; $TASK_ID stands for its id. */
  runningTaskLogPath: string;
  /** Log of a task that has ended. */
  finishedTaskLogPath: string;
  /** End of host names that is not shown. */
  commonHostnameSuffixToOmit: string;
  /** Prefix of the names of stored logs that the page hides. */
  taskS3LogOmitPrefix: string;
  /** Share of its expected run time, in percent, beyond which a run is pointed out. */
  @ApiProperty(int32)
  warnIfScheduledJobIsRunningPastNextRunPct: number;
  /** Commands that may be run in tasks, as JSON. */
  shellCommands: string;
  /** Show only the first part of the names of hosts. */
  shortenSlaveUsageHostname: boolean;
  /** Format of times. */
  timestampFormat: string;
  /** Show the requested disk of tasks. */
  showTaskDiskResource: boolean;
  /** Format of times with seconds. */
  timestampWithSecondsFormat: string;
  /** Address at which people log in; {URL} stands for the address they came from. */
  redirectOnUnauthorizedUrl: string;
  /** Address of a further script of this origin. */
  extraScript: string;
  /** Send the token of the cookie as Authorization: Bearer. */
  generateAuthHeader: boolean;
  /** Cookie that says who calls. */
  authCookieName: string;
  /** Member of the JSON in that cookie that contains the token. */
  authTokenKey: string;
  /** Where a browser goes to sign in with a provider. Absent: there is none. */
  @Since('muster')
  signInUrl?: string;
  /** What the button says that leads there. */
  @Since('muster')
  signInLabel?: string;
  /** Links on the pages of requests, as JSON. */
  quickLinks: string;
  /** Links to other clusters, as JSON. */
  navTitleLinks: string;
  /** Address at which logs can be read in a terminal. */
  lessTerminalPath: string;
  /** Name of the page's script below staticRoot; changes with its content. */
  appJsPath: string;
  /** Name of the page's styles. */
  appCssPath: string;
  /** Name of the script that the page's script builds on. */
  vendorJsPath: string;
}
