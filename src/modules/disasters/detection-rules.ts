import type { DetectionRules, DisableRules } from '../../core/disasters/index.js';
import type { Settings } from '../../platform/settings/settings.js';

/* What the settings mean to the decisions. */

export const detectionRules = ({ disasterDetection: settings }: Settings): DetectionRules => ({
  lag: {
    check: settings.checkLateTasks,
    warningPortion: settings.warningOverdueTaskPortion,
    criticalPortion: settings.criticalOverdueTaskPortion,
    warningAverageMillis: settings.warningAvgTaskLagMillis,
    criticalAverageMillis: settings.criticalAvgTaskLagMillis,
    triggerAfterMillis: settings.triggerAfterMillisOverTaskLagThreshold,
  },
  lostSlaves: {
    check: settings.checkLostSlaves,
    criticalPortion: settings.criticalLostSlavePortion,
    withinMillis: settings.includeLostSlavesInLastMillis,
  },
  lostTasks: {
    check: settings.checkLostTasks,
    criticalPortion: settings.criticalLostTaskPortion,
    withinMillis: settings.includeLostTasksInLastMillis,
  },
});

export const disableRules = ({ disasterDetection: settings }: Settings): DisableRules => ({
  actions: settings.disableActionsOnDisaster,
  expirationMillis: settings.defaultDisabledActionExpiration,
});
