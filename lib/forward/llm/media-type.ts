// What a head's content-type says a body is.

/** Of any family: `application/problem+json` too. */
const JSON_TYPE = /^(?:application\/json|[^/;\s]+\/[^/;\s]+\+json)$/

/** Without parameters, in lower case. */
export function essenceOf(type: string): string {
  return type.split(';', 1)[0]!.trim().toLowerCase()
}

export function isJsonType(essence: string): boolean {
  return JSON_TYPE.test(essence)
}
