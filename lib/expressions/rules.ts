// Decides on the authorization rules of a policy: no deny may hold, every require must, and if there are allows, one must.

import type { CelFaultCode } from './expression-errors.ts'
import type { ExpressionView } from './exchange-view.ts'
import type { Expression } from './compile.ts'

export interface AuthorizationRule {
  readonly mode: 'allow' | 'deny' | 'require'
  readonly expression: Expression
}

/** The rule that forbids the request; `none allows` if there are allows and none holds; null if it is permitted. */
export type RuleViolation = AuthorizationRule | 'none allows' | null

/** Faults of the gateway's own bounds, which a client can cause; a missing value is another kind. */
const BOUND_FAULTS: ReadonlySet<CelFaultCode> = new Set([
  'too_many_steps',
  'too_large',
  'too_deep',
  'out_of_range',
  'failed',
] as const)

/** `onFault` gets rules without a value, which do not hold: only the code, because the values are the client's. */
export function findRuleViolation(
  rules: readonly AuthorizationRule[],
  view: ExpressionView,
  onFault?: (rule: AuthorizationRule, code: CelFaultCode) => void,
): RuleViolation {
  let allows: 'none' | 'unmet' | 'met' = 'none'
  for (const rule of rules) {
    const { mode, expression } = rule
    if (mode === 'allow' && allows === 'met') continue
    const result = expression.evaluate(view)
    if ('fault' in result) onFault?.(rule, result.fault)
    const holds = 'value' in result && result.value === true
    // A client must not get past a rule by making it too costly to evaluate.
    const isEvaded = 'fault' in result && BOUND_FAULTS.has(result.fault)
    if (mode === 'deny' && (holds || isEvaded)) return rule
    if (mode === 'require' && !holds) return rule
    if (mode === 'allow') allows = holds ? 'met' : 'unmet'
  }
  return allows === 'unmet' ? 'none allows' : null
}
