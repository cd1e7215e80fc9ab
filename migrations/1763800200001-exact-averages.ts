import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Running means of a deploy keep their fractions: rounded ones stand still once thousands of tasks have ended. */
export class ExactAverages1763800200001 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await this.change(q, 'double precision');
  }
  async down(q: QueryRunner): Promise<void> {
    await this.change(q, 'bigint');
  }
  private async change(q: QueryRunner, type: string): Promise<void> {
    await q.query(`ALTER TABLE deploy_statistics ALTER COLUMN average_runtime_millis TYPE ${type},
      ALTER COLUMN average_scheduling_delay_millis TYPE ${type}`);
  }
}
