import type { Settings } from '../../platform/settings/settings.js';
import type { IndexViewDto } from './dto/index-view.dto.js';

/** Names of the files that the page needs. */
export type AssetNames = Pick<IndexViewDto, 'appJsPath' | 'appCssPath' | 'vendorJsPath'>;

/** What the page is told about this installation. */
export function toIndexView(settings: Settings, assets: AssetNames): IndexViewDto {
  const { cluster, ui } = settings;
  const base = ui.baseUrl.replace(/\/+$/, '');
  return {
    appRoot: `${base}/${ui.path}`,
    apiDocs: ui.apiDocs ?? `${base}/docs`,
    staticRoot: ui.staticRoot ?? `${base}/static`,
    apiRoot: ui.apiRoot ?? `${base}/api`,
    navColor: ui.navColor,
    // Older pages read whole numbers; a deploy form may offer a little more than the default, but not less.
    defaultMemory: Math.ceil(cluster.defaultMemory),
    defaultCpus: Math.ceil(cluster.defaultCpus),
    defaultDisk: Math.ceil(cluster.defaultDisk),
    hideNewDeployButton: ui.hideNewDeployButton,
    hideNewRequestButton: ui.hideNewRequestButton,
    loadBalancingEnabled: settings.loadBalancerUri !== undefined,
    title: ui.title,
    slaveHttpPort: ui.slaveHttpPort,
    slaveHttpsPort: ui.slaveHttpsPort,
    defaultBounceExpirationMinutes: Math.ceil(settings.defaultBounceExpirationMinutes),
    defaultHealthcheckIntervalSeconds: Math.ceil(settings.healthcheckIntervalSeconds),
    defaultHealthcheckTimeoutSeconds: Math.ceil(settings.healthcheckTimeoutSeconds),
    defaultHealthcheckMaxRetries: settings.healthcheckMaxRetries ?? 0,
    defaultStartupTimeoutSeconds: Math.ceil(settings.startupTimeoutSeconds),
    runningTaskLogPath: ui.runningTaskLogPath,
    finishedTaskLogPath: ui.finishedTaskLogPath,
    commonHostnameSuffixToOmit: settings.commonHostnameSuffixToOmit ?? '',
    taskS3LogOmitPrefix: ui.taskS3LogOmitPrefix,
    warnIfScheduledJobIsRunningPastNextRunPct: settings.warnIfScheduledJobIsRunningPastNextRunPct,
    shellCommands: JSON.stringify(ui.shellCommands),
    shortenSlaveUsageHostname: ui.shortenSlaveUsageHostname,
    timestampFormat: ui.timestampFormat,
    showTaskDiskResource: ui.showTaskDiskResource,
    timestampWithSecondsFormat: ui.timestampWithSecondsFormat,
    redirectOnUnauthorizedUrl: ui.redirectOnUnauthorizedUrl,
    extraScript: ui.extraScript,
    generateAuthHeader: ui.generateAuthHeader,
    authCookieName: ui.authCookieName,
    authTokenKey: ui.authTokenKey,
    quickLinks: JSON.stringify(ui.quickLinks),
    navTitleLinks: JSON.stringify(ui.navTitleLinks),
    lessTerminalPath: ui.lessTerminalPath,
    ...assets,
  };
}
