// Rules of a policy decided together: no deny may hold, every require must, and if there are allows one of them.

import type { Rule } from '../config/auth-types.ts'
import type { View } from './view.ts'

/** The rule that forbids it; `none allows`: there are allows, and none of them holds. Null when it is permitted. */
export type Objection = Rule | 'none allows' | null

export function objectionOf(rules: readonly Rule[], view: View): Objection {
  let allows: 'none' | 'unmet' | 'met' = 'none'
  for (const rule of rules) {
    const { mode, expression } = rule
    if (mode === 'allow' && allows === 'met') continue
    const holds = expression.holds(view)
    if (mode === 'deny' && holds) return rule
    if (mode === 'require' && !holds) return rule
    if (mode === 'allow') allows = holds ? 'met' : 'unmet'
  }
  return allows === 'unmet' ? 'none allows' : null
}
