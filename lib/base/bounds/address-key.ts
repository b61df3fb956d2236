// Whose connection it is, as far as an address tells.

/** An IPv4 address is one client; of IPv6 each has at least a /64 for itself. */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address
  const [start = '', end] = address.split('%', 1)[0]!.split('::')
  const groups = start === '' ? [] : start.split(':')
  if (end !== undefined) {
    const behind = end === '' ? 0 : end.split(':').length
    while (groups.length + behind < GROUPS && groups.length < NETWORK) groups.push('0')
    groups.push(...end.split(':'))
  }
  return `${groups.slice(0, NETWORK).join(':')}::/64`
}

const GROUPS = 8
/** Groups that name the network. */
const NETWORK = 4
