// Of several budgets an answer tells of one: the one that ends first.

import type { Allowance } from '../types.ts'

/** The one with less left; of two the one that stays so for longer. */
export function tighter(met: Allowance | null, other: Allowance): Allowance {
  if (met === null) return other
  if (met.remaining !== other.remaining) return met.remaining < other.remaining ? met : other
  return met.reset >= other.reset ? met : other
}
