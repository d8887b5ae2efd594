package congestionlab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// unit is a suffix of values and what it multiplies them by.
type unit struct {
	name   string
	factor float64
}

// The units that people write, those for printing first: the largest that fits is taken.
var (
	bitRates  = []unit{{"Gb/s", 1e9}, {"Mb/s", 1e6}, {"kb/s", 1e3}, {"b/s", 1}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1}}
	byteSizes = []unit{{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}
)

// parseBitRate reads bits per second, such as 1Gb/s, 2.5G or 40 Mb/s.
func parseBitRate(s string) (float64, error) {
	v, err := parseUnit(s, bitRates)
	if err != nil {
		return 0, fmt.Errorf("is no bit rate; write one like 1Gb/s or 40Mb/s")
	}
	return v, nil
}

// parseBytes reads a number of bytes, such as 5000, 5KB (of 1000) or 64KiB (of 1024).
func parseBytes(s string) (int, error) {
	v, err := parseUnit(s, byteSizes)
	whole := math.Round(v)
	if err != nil || math.Abs(v-whole) > 1e-3 || math.Abs(v) > 1<<40 { // 2.097088MB is whole, nearly
		return 0, fmt.Errorf("is no number of bytes; write one like 5000, 5KB or 64KiB")
	}
	return int(whole), nil
}

func parseUnit(s string, units []unit) (float64, error) {
	for _, u := range units {
		if number, ok := strings.CutSuffix(s, u.name); ok {
			if v, err := strconv.ParseFloat(strings.TrimSpace(number), 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
				return v * u.factor, nil
			}
		}
	}
	return 0, strconv.ErrSyntax
}

// parseDuration reads a time such as 50us or 0.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("is no time; write one like 50us, 20ms or 1s")
	}
	return d, nil
}

// parseShare reads a number without unit.
func parseShare(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) {
		return 0, fmt.Errorf("is no number; write one like 0.1")
	}
	return v, nil
}

// parseCount reads a whole number.
func parseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("is no whole number")
	}
	return n, nil
}

// parseSwitch reads on or off.
func parseSwitch(s string) (bool, error) {
	switch s {
	case "on", "true":
		return true, nil
	case "off", "false":
		return false, nil
	}
	return false, fmt.Errorf("is neither on nor off")
}

// formatBitRate prints bits per second as people do.
func formatBitRate(v float64) string { return formatUnit(v, bitRates[:4]) }

// formatBytes prints a number of bytes, in units of 1000, or of 1024 if that is shorter.
func formatBytes(n int) string {
	if n > 0 && n%(1<<30) == 0 {
		return fmt.Sprintf("%dGiB", n>>30)
	}
	if n > 0 && n%(1<<20) == 0 {
		return fmt.Sprintf("%dMiB", n>>20)
	}
	if n > 0 && n%(1<<10) == 0 {
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return formatUnit(float64(n), byteSizes[:4])
}

func formatUnit(v float64, units []unit) string {
	if v == 0 {
		return "0"
	}
	for _, u := range units {
		if math.Abs(v) >= u.factor || u.factor == 1 {
			return strconv.FormatFloat(v/u.factor, 'g', -1, 64) + u.name
		}
	}
	return "" // every list ends with a factor of 1
}

// formatDuration prints a time so that it can be read back: in ASCII.
func formatDuration(d time.Duration) string { return strings.ReplaceAll(d.String(), "µ", "u") }

func parseBytes64(s string) (int64, error) {
	n, err := parseBytes(s)
	return int64(n), err
}

func formatBytes64(n int64) string { return formatBytes(int(n)) }

func formatCount(n int) string { return strconv.Itoa(n) }

func formatShare(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func formatSwitch(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
