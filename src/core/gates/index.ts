export {
  afterMeasurement,
  type AnsweredGate,
  answerGate,
  decidedAt,
  failureText,
  type GateAnswer,
  type GatesVerdict,
  isMeasured,
  isOpen,
  judgeGates,
  leastMillis,
  type StepFacts,
} from './judge.js';
export {
  type ComparedDeploys,
  fillVariables,
  type JudgeAnswer,
  type Measured,
  measureHttp,
  measurePrometheus,
} from './measure.js';
export { waitText } from './texts.js';
