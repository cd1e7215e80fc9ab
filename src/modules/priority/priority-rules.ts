import type { PriorityRules } from '../../core/placement/index.js';
import type { Settings } from '../../platform/settings/settings.js';

/** What the settings mean for the priority of a request. */
export const priorityRules = (settings: Settings): PriorityRules => ({
  priority: {
    defaultLevel: settings.defaultTaskPriorityLevel,
    levelOfType: settings.defaultTaskPriorityLevelForRequestType,
    weightFactor: settings.schedulerPriorityWeightFactor,
  },
});
