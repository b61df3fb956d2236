// Rules of a policy decided together: no deny may hold, every require must, and if there are allows one of them.

import type { Rule } from '../config/auth-types.ts'
import type { View } from './view.ts'

export function permits(rules: readonly Rule[], view: View): boolean {
  let allows: 'none' | 'unmet' | 'met' = 'none'
  for (const { mode, expression } of rules) {
    if (mode === 'allow' && allows === 'met') continue
    const holds = expression.holds(view)
    if (mode === 'deny' && holds) return false
    if (mode === 'require' && !holds) return false
    if (mode === 'allow') allows = holds ? 'met' : 'unmet'
  }
  return allows !== 'unmet'
}
