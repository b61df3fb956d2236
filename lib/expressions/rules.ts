// Rules of a policy decided together: no deny may hold, every require must, and if there are allows one of them.

import type { CelFaultCode } from './expression-errors.ts'
import type { ExpressionView } from './exchange-view.ts'
import type { Expression } from './compile.ts'

/** The rule that forbids it; `none allows`: there are allows, and none of them holds. Null when it is permitted. */
export type RuleViolation = AuthorizationRule | 'none allows' | null

/** Faults of our own bounds, which a client can bring about; a missing value is something else. */
const BOUNDS: ReadonlySet<CelFaultCode> = new Set([
  'too_many_steps',
  'too_large',
  'too_deep',
  'out_of_range',
  'failed',
] as const)

/** `tell` hears of rules that had no value, and so did not hold: by code, as what they read is a stranger's. */
export function findRuleViolation(
  rules: readonly AuthorizationRule[],
  view: ExpressionView,
  tell?: (rule: AuthorizationRule, code: CelFaultCode) => void,
): RuleViolation {
  let allows: 'none' | 'unmet' | 'met' = 'none'
  for (const rule of rules) {
    const { mode, expression } = rule
    if (mode === 'allow' && allows === 'met') continue
    const result = expression.evaluate(view)
    if ('fault' in result) tell?.(rule, result.fault)
    const holds = 'value' in result && result.value === true
    // Whoever makes a rule too costly to evaluate must not get past it by that.
    const isEvaded = 'fault' in result && BOUNDS.has(result.fault)
    if (mode === 'deny' && (holds || isEvaded)) return rule
    if (mode === 'require' && !holds) return rule
    if (mode === 'allow') allows = holds ? 'met' : 'unmet'
  }
  return allows === 'unmet' ? 'none allows' : null
}

/** No deny may hold, every require must, and if there are allows one of them. */
export interface AuthorizationRule {
  readonly mode: 'allow' | 'deny' | 'require'
  readonly expression: Expression
}
