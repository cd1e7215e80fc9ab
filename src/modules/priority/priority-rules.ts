import type { PriorityRules } from '../../core/placement/index.js';
import type { Settings } from '../../platform/settings/settings.js';

/** The rules for the priority of a request, out of the settings. */
export const priorityRules = (settings: Settings): PriorityRules => ({
  priority: {
    defaultLevel: settings.defaultTaskPriorityLevel,
    levelOfType: settings.defaultTaskPriorityLevelForRequestType,
    weightFactor: settings.schedulerPriorityWeightFactor,
  },
});
