import { publicTargets, type TargetRules } from '../../../platform/guarded-lookup.js';
import type { Settings } from '../../../platform/settings/settings.js';
import { Targets } from '../../../platform/targets.js';

/** Hosts that gates may ask. */
export const gateTargets = ({ gates: { allowedTargets } }: Pick<Settings, 'gates'>): TargetRules => ({
  targets: allowedTargets ? new Targets(allowedTargets) : publicTargets,
  setting: 'gates.allowedTargets',
});
