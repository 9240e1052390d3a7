import {
  Evidence,
  isForgedAndTaken,
  isLost,
  type Explanation,
  type HandlerFinding,
} from './evidence.ts'
import {
  bodyTexts,
  compareTexts,
  cannotBeReached,
  failsOnEverything,
  forgeryTexts,
  hasCrashed,
  keyTexts,
  lossExplanations,
  parsesFirst,
  refusalTexts,
  reSerialises,
  statusTexts,
  takesForged,
  type Rewriter,
} from './mistake-texts.ts'
import type { CaseVerdict } from './verdict.ts'

type Rule = (evidence: Evidence) => readonly HandlerFinding[]

/** Explains every case that the handler got wrong, the most serious mistakes first. Pure. */
export function diagnoseHandler(verdicts: readonly CaseVerdict[]): readonly HandlerFinding[] {
  const evidence = new Evidence(verdicts)
  return Object.freeze(rules.flatMap((rule) => rule(evidence)))
}

const failsOnOtherText: Rule = (evidence) => {
  const isFailed = ({ reaction }: CaseVerdict): boolean =>
    reaction !== 'taken' && reaction !== 'unreachable'
  const failed = evidence.wrongOf(['not-json']).filter(isFailed)
  return evidence.had('wrong-secret', 'wrong') ? [] : evidence.explain(failed, parsesFirst)
}

const unreachable: Rule = (evidence) => {
  const unreached = evidence.wrong(({ reaction }) => reaction === 'unreachable')
  const isEachClosed = evidence.sent.every(({ reaction }) => reaction === 'closed')
  const failed = isEachClosed ? evidence.wrong() : unreached
  const [first] = failed
  if (first === undefined) return []
  const before = evidence.verdicts.slice(0, evidence.verdicts.indexOf(first))
  const last = before.at(-1)
  if (last === undefined) return evidence.explain(failed, cannotBeReached(first.error ?? ''))
  // A handler that crashes also closes connections that were opened before its port was closed.
  const closed = before.slice(before.findLastIndex(({ reaction }) => reaction !== 'closed') + 1)
  const forged = evidence.wrong(
    (verdict) => verdict.expected === 'refused' && closed.includes(verdict),
  )
  const text = hasCrashed((closed[0] ?? last).id, first.error ?? '')
  return evidence.explain([...forged, ...failed], text)
}

/** Applies if every case got the same status. The mistake is then probably in the URL, not in the verification. */
const refusesEverything: Rule = (evidence) => {
  const answered = evidence.verdicts.filter(({ status }) => status !== null)
  const [first] = answered
  if (first?.expected !== 'taken' || first.reaction === 'taken') return []
  if (answered.some(({ status }) => status !== first.status)) return []
  const text = statusTexts(first.status ?? 0, first.reaction)
  return text === undefined ? [] : evidence.explain(evidence.wrong(), text)
}

const takesEverything: Rule = (evidence) => {
  if (!evidence.had('wrong-secret', 'taken') || evidence.had('plain', 'refused')) return []
  const text = evidence.had('missing-header', 'right')
    ? forgeryTexts.checksPresenceOnly
    : forgeryTexts.doesNotVerify
  return evidence.explain(evidence.wrong(isForgedAndTaken), text)
}

const takesMalformed: Rule = (evidence) => {
  const isEachTaken = ['truncated', 'sha256'].every((id) => evidence.had(id, 'taken'))
  return isEachTaken
    ? evidence.explain(evidence.wrong(isForgedAndTaken), forgeryTexts.malformed)
    : []
}

/** Applies if the handler refuses the right signature, and accepts one that is computed with a known mistake. */
const wrongKey: Rule = (evidence) => {
  if (evidence.had('plain', 'taken')) return []
  const lost = evidence.wrong(isLost)
  const passed = Object.keys(keyTexts).find((id) => evidence.had(id, 'taken'))
  if (lost.length === 0 || passed === undefined) return []
  const text = keyTexts[passed]
  return text === undefined ? [] : evidence.explain([...lost, ...evidence.wrongOf([passed])], text)
}

const styles = ['plain', 'spaced', 'escaped', 'reordered', 'pretty', 'numbers', 'unicode', 'split']
const stylesBeyondAscii = ['unicode', 'split']
const lineEndings = ['newline', 'crlf']

const otherBytes: Rule = (evidence) => {
  // If a handler accepts `unicode` but fails `split`, the cause is the split into packets, not the characters.
  const isSplitLost = evidence.had('unicode', 'wrong') || evidence.had('plain', 'wrong')
  const lost = evidence.wrong(
    (verdict) => evidence.isMistakenForForgery(verdict) && (verdict.id !== 'split' || isSplitLost),
  )
  const lostOf = (ids: readonly string[]): readonly CaseVerdict[] =>
    lost.filter(({ id }) => ids.includes(id))
  const taken = [...styles, ...lineEndings].filter((id) => evidence.had(id, 'taken'))
  if (taken.length === 0 && lost.length > 0) return []
  const lostStyles = lostOf([...styles, ...lineEndings])
  if (lostStyles.length > 0 && lostStyles.every(({ id }) => stylesBeyondAscii.includes(id))) {
    return evidence.explain(lostStyles, bodyTexts.charset)
  }
  const respaced = evidence.wrongOf(['altered-space']).filter(isForgedAndTaken)
  if (lostOf(styles).length > 0 || respaced.length > 0) {
    // A handler that refuses even the plain webhook refuses all these cases for the same reason.
    const explained = evidence.had('plain', 'taken') ? lostStyles : lost
    return evidence.explain([...explained, ...respaced], reSerialises(rewriterOf(taken, evidence)))
  }
  return [
    ...evidence.explain(lostOf(['newline']), bodyTexts.lineBreakLost),
    ...evidence.explain(lostOf(['crlf']), bodyTexts.lineEndingsChanged),
  ]
}

/** Recognises the encoder by the style of body that the handler accepts. */
function rewriterOf(taken: readonly string[], evidence: Evidence): Rewriter {
  if (taken.includes('plain')) return evidence.had('unicode', 'wrong') ? 'other' : 'node'
  if (taken.includes('spaced')) return 'python'
  return taken.includes('escaped') ? 'php' : 'other'
}

const refusesAllRight: Rule = (evidence) => {
  const lost = evidence
    .wrong((verdict) => evidence.isMistakenForForgery(verdict))
    .filter(({ reaction }) => reaction === 'refused')
  const isAnyTaken = evidence.verdicts.some(
    ({ expected, reaction }) => expected === 'taken' && reaction === 'taken',
  )
  if (isAnyTaken || lost.length < 2) return []
  return evidence.explain(lost, keyTexts.unknown)
}

/** Applies if the handler accepts nothing, and fails with the right signature as with a wrong one. */
const failsAlways: Rule = (evidence) => {
  const isAnyTaken = evidence.sent.some(({ reaction }) => reaction === 'taken')
  const isAlike = ['plain', 'wrong-secret'].every((id) => evidence.had(id, 'failed'))
  if (isAnyTaken || !isAlike) return []
  return evidence.explain(
    evidence.wrong(({ reaction }) => reaction === 'failed'),
    failsOnEverything,
  )
}

/** Makes a rule for the wrong cases that pass `applies`. Each gets the first explanation that matches it. */
function ruleFor(
  applies: (verdict: CaseVerdict) => boolean,
  explanations: readonly Explanation[],
): Rule {
  return (evidence) =>
    explanations.flatMap(([matches, ...text]) => {
      const wrong = evidence.wrong((verdict) => applies(verdict) && matches(verdict, evidence))
      return evidence.explain(wrong, text)
    })
}

const unsignedCases = ['missing-header', 'empty-header', 'other-header']

const knownForgeries = ruleFor(isForgedAndTaken, [
  [({ id }) => id.startsWith('forged-'), ...forgeryTexts.someTypes],
  [
    ({ id }, evidence) =>
      unsignedCases.includes(id) &&
      !(evidence.had('missing-header', 'right') && evidence.had('empty-header', 'right')),
    ...forgeryTexts.unsigned,
  ],
  ...Object.entries(compareTexts).map(([known, text]): Explanation => [
    ({ id }) => id === known,
    ...text,
  ]),
])

const otherForgeries: Rule = (evidence) =>
  evidence
    .wrong(isForgedAndTaken)
    .flatMap((verdict) => evidence.explain([verdict], takesForged(verdict.about)))

const badRefusals = ruleFor(
  () => true,
  Object.entries(refusalTexts).map(([known, text]): Explanation => [
    ({ reaction }) => reaction === known,
    ...text,
  ]),
)

const rules: readonly Rule[] = [
  failsOnOtherText,
  unreachable,
  refusesEverything,
  takesEverything,
  takesMalformed,
  wrongKey,
  otherBytes,
  refusesAllRight,
  failsAlways,
  knownForgeries,
  otherForgeries,
  ruleFor(isLost, lossExplanations),
  badRefusals,
]
