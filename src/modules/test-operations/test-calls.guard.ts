import { Inject, Injectable, type CanActivate } from '@nestjs/common';
import { SchedulerError } from '../../platform/errors.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

/** Lets nobody break the service whose operator did not ask for it. */
@Injectable()
export class TestCallsGuard implements CanActivate {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  canActivate(): boolean {
    if (this.settings.allowTestResourceCalls) return true;
    throw new SchedulerError(
      'TEST_CALLS_DISABLED',
      'Test operations are off; the setting allowTestResourceCalls switches them on',
    );
  }
}
