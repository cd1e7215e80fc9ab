import type { PriorityRules } from '../../core/priority/index.js';
import type { Settings } from '../../platform/settings/settings.js';

/** What the settings mean to the priority of a request. */
export const priorityRules = (settings: Settings): PriorityRules => ({
  priority: {
    defaultLevel: settings.defaultTaskPriorityLevel,
    levelOfType: settings.defaultTaskPriorityLevelForRequestType,
    weightFactor: settings.schedulerPriorityWeightFactor,
  },
});
