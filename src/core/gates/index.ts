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
  type AnsweredNumber,
  type ComparedDeploys,
  fillVariables,
  httpNumber,
  type JudgeAnswer,
  measure,
  type Measured,
  measureHttp,
  measurePrometheus,
  prometheusNumber,
} from './measure.js';
export { waitText } from './texts.js';
