import { describe, expect, test } from 'vitest';
import { nextRun, readSchedule, type ScheduleSpec } from './index.js';

function read(schedule: string, scheduleTimeZone?: string, since?: number): ScheduleSpec {
  const spec = readSchedule({ schedule, scheduleType: 'RFC5545', scheduleTimeZone }, since);
  if ('errors' in spec) throw new Error(spec.errors[0]!.message);
  return spec;
}

/** Times of the next `count` runs after `after`, in UTC, to the minute. */
function hits(schedule: string, after: string, count: number, zone?: string): string[] {
  const spec = read(schedule, zone);
  const found: string[] = [];
  for (let next = nextRun(spec, Date.parse(after)); next !== undefined && found.length < count;) {
    found.push(new Date(next).toISOString().slice(0, 16));
    next = nextRun(spec, next);
  }
  return found;
}

const start = 'DTSTART=20260105T090000 RRULE:';

describe('an RFC 5545 rule', () => {
  test.each([
    { rule: 'FREQ=DAILY', runs: ['2026-01-06T09:00', '2026-01-07T09:00'] },
    { rule: 'FREQ=DAILY;INTERVAL=10', runs: ['2026-01-15T09:00', '2026-01-25T09:00'] },
    { rule: 'FREQ=WEEKLY', runs: ['2026-01-12T09:00', '2026-01-19T09:00'] },
    { rule: 'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,TH', runs: ['2026-01-06T09:00', '2026-01-08T09:00', '2026-01-20T09:00'] },
    { rule: 'FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=SU,MO', runs: ['2026-01-18T09:00', '2026-01-19T09:00'] },
    { rule: 'FREQ=WEEKLY;INTERVAL=2;WKST=MO;BYDAY=SU,MO', runs: ['2026-01-11T09:00', '2026-01-19T09:00'] },
    { rule: 'FREQ=MONTHLY;BYDAY=1FR', runs: ['2026-02-06T09:00', '2026-03-06T09:00'] },
    { rule: 'FREQ=MONTHLY;BYDAY=-2MO', runs: ['2026-01-19T09:00', '2026-02-16T09:00'] },
    { rule: 'FREQ=MONTHLY;BYMONTHDAY=-3', runs: ['2026-01-29T09:00', '2026-02-26T09:00'] },
    { rule: 'FREQ=MONTHLY;BYMONTHDAY=31', runs: ['2026-01-31T09:00', '2026-03-31T09:00'] },
    { rule: 'FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13', runs: ['2026-02-13T09:00', '2026-03-13T09:00'] },
    { rule: 'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1', runs: ['2026-01-30T09:00', '2026-02-27T09:00'] },
    { rule: 'FREQ=MONTHLY;BYDAY=TU,WE,TH;BYSETPOS=3', runs: ['2026-01-07T09:00', '2026-02-05T09:00'] },
    { rule: 'FREQ=YEARLY;BYMONTH=6,7', runs: ['2026-06-05T09:00', '2026-07-05T09:00'] },
    { rule: 'FREQ=YEARLY;BYYEARDAY=1,100,-1', runs: ['2026-04-10T09:00', '2026-12-31T09:00', '2027-01-01T09:00'] },
    { rule: 'FREQ=YEARLY;BYDAY=20MO', runs: ['2026-05-18T09:00', '2027-05-17T09:00'] },
    { rule: 'FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO', runs: ['2026-05-11T09:00', '2027-05-17T09:00'] },
    { rule: 'FREQ=YEARLY;BYWEEKNO=-1;BYDAY=SU', runs: ['2027-01-03T09:00', '2028-01-02T09:00'] },
    { rule: 'FREQ=YEARLY;BYWEEKNO=53;BYDAY=FR', runs: ['2027-01-01T09:00', '2032-12-31T09:00'] },
    { rule: 'FREQ=YEARLY;BYMONTH=3;BYDAY=TH', runs: ['2026-03-05T09:00', '2026-03-12T09:00'] },
    { rule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29', runs: ['2028-02-29T09:00', '2032-02-29T09:00'] },
    {
      rule: 'FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8',
      runs: ['2026-11-03T09:00', '2030-11-05T09:00'],
    },
    { rule: 'FREQ=HOURLY;INTERVAL=3', runs: ['2026-01-05T12:00', '2026-01-05T15:00'] },
    { rule: 'FREQ=HOURLY;BYMINUTE=15,45;BYSETPOS=-1', runs: ['2026-01-05T09:45', '2026-01-05T10:45'] },
    { rule: 'FREQ=MINUTELY;INTERVAL=90', runs: ['2026-01-05T10:30', '2026-01-05T12:00'] },
    {
      rule: 'FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10',
      runs: ['2026-01-05T09:20', '2026-01-05T09:40', '2026-01-05T10:00'],
    },
    { rule: 'FREQ=SECONDLY;INTERVAL=3600', runs: ['2026-01-05T10:00', '2026-01-05T11:00'] },
    { rule: 'FREQ=DAILY;BYHOUR=6,18;BYMINUTE=30', runs: ['2026-01-05T18:30', '2026-01-06T06:30'] },
    { rule: 'FREQ=DAILY;UNTIL=20260107T090000', runs: ['2026-01-06T09:00', '2026-01-07T09:00'], ends: true },
    { rule: 'FREQ=DAILY;UNTIL=20260107T085959Z', runs: ['2026-01-06T09:00'], ends: true },
    { rule: 'FREQ=DAILY;UNTIL=20260107', runs: ['2026-01-06T09:00', '2026-01-07T09:00'], ends: true },
    { rule: 'FREQ=DAILY;COUNT=3', runs: ['2026-01-06T09:00', '2026-01-07T09:00'], ends: true },
    { rule: 'FREQ=MINUTELY;COUNT=3', runs: ['2026-01-05T09:01', '2026-01-05T09:02'], ends: true },
    {
      rule: 'FREQ=HOURLY;BYMINUTE=0,30;COUNT=4',
      runs: ['2026-01-05T09:30', '2026-01-05T10:00', '2026-01-05T10:30'],
      ends: true,
    },
    { rule: 'FREQ=DAILY;BYHOUR=6,9,18;COUNT=3', runs: ['2026-01-05T18:00', '2026-01-06T06:00'], ends: true },
  ])('$rule runs at $runs', ({ rule, runs, ends }) => {
    expect(hits(start + rule, '2026-01-05T09:00:00Z', ends ? 99 : runs.length)).toEqual(runs);
  });

  test('names its own days when it starts in the future', () =>
    expect(hits('DTSTART=20300101T000000 RRULE:FREQ=DAILY', '2026-01-05T09:00:00Z', 1)).toEqual(['2030-01-01T00:00']));

  test.each([
    'DTSTART=20260105T090000 RRULE:FREQ=DAILY',
    'DTSTART=20260105T090000\nRRULE:FREQ=DAILY',
    'DTSTART=20260105T090000;FREQ=DAILY',
    'FREQ=DAILY;DTSTART=20260105T090000',
    'DTSTART:20260105T090000\r\nRRULE:FREQ=DAILY',
    'RRULE:FREQ=DAILY\nDTSTART:20260105T090000',
    'DTSTART;TZID=Europe/Paris:20260105T090000 RRULE:FREQ=DAILY',
    'dtstart=20260105t090000 rrule:freq=daily',
  ])('is read from %j', (schedule) =>
    expect(hits(schedule, '2026-07-01T08:00:00Z', 1, 'Europe/Paris')).toEqual(['2026-07-02T07:00']),
  );

  test('runs in the zone of the request', () => {
    expect(hits(`${start}FREQ=DAILY`, '2026-07-01T00:00:00Z', 1, 'Asia/Tokyo')).toEqual(['2026-07-02T00:00']);
    expect(hits(`${start}FREQ=DAILY`, '2026-07-01T00:00:00Z', 1)).toEqual(['2026-07-01T09:00']);
  });

  test('runs in the zone that its start names', () => {
    const paris = 'DTSTART;TZID=Europe/Paris:20260105T090000 RRULE:FREQ=DAILY';
    expect(hits(paris, '2026-07-01T00:00:00Z', 1)).toEqual(['2026-07-01T07:00']);
    expect(hits('DTSTART:20260105T090000Z RRULE:FREQ=DAILY', '2026-07-01T00:00:00Z', 1)).toEqual(['2026-07-01T09:00']);
  });

  test('leaves out excepted runs and whole days, and adds others', () => {
    const rule = `${start}FREQ=DAILY EXDATE:20260106T090000,20260107 RDATE:20260107T120000,20260108T100000`;
    expect(hits(rule, '2026-01-05T09:00:00Z', 3)).toEqual(['2026-01-08T09:00', '2026-01-08T10:00', '2026-01-09T09:00']);
  });

  describe('without a start', () => {
    test('begins with the present minute, seconds zeroed', () => {
      const now = Date.parse('2026-01-05T09:07:42.500Z');
      expect(new Date(nextRun(read('FREQ=DAILY'), now)!).toISOString()).toBe('2026-01-06T09:07:00.000Z');
      expect(new Date(nextRun(read('FREQ=HOURLY;BYMINUTE=30'), now)!).toISOString()).toBe('2026-01-05T09:30:00.000Z');
    });
    test.each([
      ['FREQ=HOURLY;INTERVAL=5', ['14:07:00', '19:07:00']],
      ['FREQ=MINUTELY;COUNT=3', ['09:08:00', '09:09:00', '09:10:00', undefined]],
      ['FREQ=SECONDLY;INTERVAL=20;COUNT=4', ['09:08:00', '09:08:20', '09:08:40', '09:09:00', undefined]],
      ['FREQ=MINUTELY;BYSECOND=10,50;COUNT=2', ['09:07:50', '09:08:10', undefined]],
      ['FREQ=HOURLY;UNTIL=20260105T100800Z', ['10:07:00', undefined]],
    ] as const)('%s starts when it is saved, however late it is asked', (text, times) => {
      const since = Date.parse('2026-01-05T09:07:42Z');
      const rule = read(text, undefined, since);
      let after = since;
      for (const time of times) {
        const next = time && Date.parse(`2026-01-05T${time}Z`);
        for (const asked of [after, next ? next - 1 : after + 86_400_000]) expect(nextRun(rule, asked)).toBe(next);
        after = next ?? after;
      }
    });
    test('COUNT is counted from the moment at which it is saved, in the zone of the request', () => {
      const since = Date.parse('2026-01-05T23:30:10Z');
      const rule = read('FREQ=DAILY;BYHOUR=8;BYMINUTE=0;COUNT=1', 'Asia/Tokyo', since);
      expect(nextRun(rule, since)).toBe(Date.parse('2026-01-06T23:00:00Z'));
      expect(nextRun(rule, since + 86_400_000)).toBeUndefined();
    });
  });
});

describe('a rule is refused', () => {
  test.each([
    ['hello', "cannot read 'hello'"],
    ['', 'FREQ is missing'],
    ['INTERVAL=2', 'FREQ is missing'],
    ['FREQ=FORTNIGHTLY', "FREQ: 'FORTNIGHTLY' must be one of YEARLY"],
    ['FREQ=DAILY;FREQ=DAILY', 'FREQ is given twice'],
    ['FREQ=DAILY;INTERVAL=0', "INTERVAL: '0' must be a whole number from 1"],
    ['FREQ=DAILY;INTERVAL=1.5', 'INTERVAL'],
    ['FREQ=DAILY;COUNT=0', 'COUNT'],
    ['FREQ=DAILY;COUNT=1000001', 'COUNT must be at most 1000000'],
    ['FREQ=HOURLY;BYDAY=MO;COUNT=10001', 'COUNT must be at most 10000'],
    ['FREQ=DAILY;COUNT=2;UNTIL=20270101', 'COUNT and UNTIL cannot both be given'],
    ['FREQ=DAILY;UNTIL=tomorrow', 'UNTIL'],
    ['FREQ=DAILY;UNTIL=20260231T000000', 'UNTIL'],
    ['DTSTART=20260105T250000 FREQ=DAILY', 'DTSTART'],
    ['DTSTART=20260105T090000 DTSTART=20260105T090000 FREQ=DAILY', 'DTSTART is given twice'],
    ['RRULE:FREQ=DAILY RRULE:FREQ=WEEKLY', 'more than one RRULE'],
    ['FREQ=DAILY;BYHOUR=24', "BYHOUR: '24' must be 0 to 23"],
    ['FREQ=DAILY;BYMINUTE=60', 'BYMINUTE'],
    ['FREQ=DAILY;BYSECOND=60', 'BYSECOND'],
    ['FREQ=DAILY;BYMONTH=13', 'BYMONTH'],
    ['FREQ=MONTHLY;BYMONTHDAY=0', "BYMONTHDAY: '0' must be 1 to 31 or -31 to -1"],
    ['FREQ=WEEKLY;BYDAY=XX', 'BYDAY'],
    ['FREQ=WEEKLY;BYDAY=1MO', 'BYDAY has no numbers with FREQ=WEEKLY'],
    ['FREQ=MONTHLY;BYDAY=6MO', 'BYDAY: a month has at most 5'],
    ['FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO', 'BYDAY has no numbers beside BYWEEKNO'],
    ['FREQ=WEEKLY;BYMONTHDAY=1', 'BYMONTHDAY is not allowed with FREQ=WEEKLY'],
    ['FREQ=DAILY;BYYEARDAY=1', 'BYYEARDAY is not allowed with FREQ=DAILY'],
    ['FREQ=MONTHLY;BYWEEKNO=1', 'BYWEEKNO is not allowed with FREQ=MONTHLY'],
    ['FREQ=DAILY;BYSETPOS=1', 'BYSETPOS needs another part'],
    ['FREQ=DAILY;RSCALE=HEBREW', 'RSCALE is not supported'],
    ['FREQ=DAILY EXRULE:FREQ=WEEKLY', 'EXRULE is not supported'],
    ['FREQ=DAILY RDATE;VALUE=PERIOD:20260101T000000/PT1H', 'VALUE=PERIOD is not supported'],
    ['DTSTART;TZID=Mars/Base:20260105T090000 FREQ=DAILY', "'Mars/Base' is not a known time zone"],
  ])('%s: %s', (schedule, message) => {
    const spec = readSchedule({ schedule, scheduleType: 'RFC5545' });
    expect('errors' in spec && spec.errors).toEqual([
      { field: 'schedule', rule: expect.any(String) as string, message: expect.stringContaining(message) as string },
    ]);
  });
});

describe('no rule holds up the others', () => {
  const everySecond = `BYHOUR=${[...Array(24).keys()].join(',')};BYMINUTE=${[...Array(60).keys()].join(',')};BYSECOND=${[...Array(60).keys()].join(',')}`;
  const now = Date.parse('2026-11-01T12:00:30Z');
  test.each([
    ['DTSTART=19700101T000000 FREQ=SECONDLY', 1],
    ['DTSTART=19700101T000000 FREQ=SECONDLY;COUNT=1000000', undefined],
    ['FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30', undefined],
    ['FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30', undefined],
    ['FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30', undefined],
    ['FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30', undefined],
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', undefined],
    ['FREQ=YEARLY;BYYEARDAY=1;BYMONTHDAY=2;BYSETPOS=1', undefined],
    ['FREQ=YEARLY;BYWEEKNO=1;BYMONTH=6', undefined],
    ['DTSTART=19700101T000000 FREQ=MINUTELY;INTERVAL=60;BYMINUTE=3', undefined],
    ['DTSTART=19700101T000000 FREQ=SECONDLY;INTERVAL=86400;BYSECOND=3', undefined],
    ['FREQ=YEARLY;INTERVAL=999999999', undefined],
    [`DTSTART=19700101T000000 FREQ=YEARLY;BYYEARDAY=1,2,3;${everySecond};COUNT=1000000`, undefined],
    [`FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;${everySecond}`, 1],
    [`DTSTART=20260101T000000 FREQ=SECONDLY;${everySecond};COUNT=10000`, undefined],
    ['DTSTART=19700101T000000 FREQ=HOURLY;BYDAY=MO,TU;COUNT=10000', undefined],
  ] as const)('%s', (schedule, seconds) => {
    const spec = read(schedule);
    // Time of the processor, the best of three: other processes share the machine.
    const took = [1, 2, 3].map(() => {
      const began = process.cpuUsage();
      const next = nextRun(spec, now);
      const { user } = process.cpuUsage(began);
      expect(next).toBe(seconds && now + seconds * 1_000);
      return user / 1_000;
    });
    expect(Math.min(...took)).toBeLessThan(50);
  });
});
