// Decides on the authorization rules of a policy: no deny may hold, every require must, and if there are allows, one must.

import type { CelFaultCode } from './expression-errors.ts'
import type { ExpressionView } from './exchange-view.ts'
import type { EvaluationResult, Expression } from './compile.ts'

export interface AuthorizationRule {
  readonly mode: 'allow' | 'deny' | 'require'
  readonly expression: Expression
}

/** The rule that forbids the request; `none allows` if there are allows and none holds; null if it is permitted. */
export type RuleViolation = AuthorizationRule | 'none allows' | null

/**
 * Whether a rule holds for its result. A deny holds also if it cannot be evaluated: a client must not evade it by a value of
 * another type, or by one that is too costly to evaluate. Only a missing value does not deny.
 */
export function holdsRule({ mode }: AuthorizationRule, result: EvaluationResult): boolean {
  if ('value' in result && typeof result.value === 'boolean') return result.value
  return mode === 'deny' && !('fault' in result && result.fault === 'no_such_key')
}

/** `onFault` gets rules without a value: only the code, because the values are the client's. */
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
    const holds = holdsRule(rule, result)
    if (mode === 'deny' && holds) return rule
    if (mode === 'require' && !holds) return rule
    if (mode === 'allow') allows = holds ? 'met' : 'unmet'
  }
  return allows === 'unmet' ? 'none allows' : null
}
