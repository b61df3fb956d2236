// How often a limit said yes and no; `failed`: it could not be asked.

export interface Decisions {
  allow: number
  deny: number
  failed: number
}

export function noDecisions(): Decisions {
  return { allow: 0, deny: 0, failed: 0 }
}
