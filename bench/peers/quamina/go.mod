module peer

go 1.22

require quamina.net/go/quamina v1.4.0

// The vanity address is not always reachable; the Go proxy serves the repository itself.
replace quamina.net/go/quamina => github.com/timbray/quamina v1.4.0
