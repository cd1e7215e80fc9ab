import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { User } from '../../../core/authorization/index.js';
import { VerificationService } from '../webhook/verification.service.js';
import type { Authenticator } from './authenticator.js';

/** The whole Authorization header, judged by another service. */
@Injectable()
export class WebhookAuthenticator implements Authenticator {
  readonly name = 'WEBHOOK';

  constructor(private readonly verification: VerificationService) {}

  async authenticate(request: Request): Promise<User | string> {
    const header = request.get('authorization');
    return header ? this.verification.verify(header) : 'header Authorization is missing';
  }
}
