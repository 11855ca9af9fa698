// Decodes export datagrams from memory with GoFlow2's decoders and prints records and seconds of processor time.
//
// usage: goflow2 FILE, which holds datagrams, each behind its length as 32 bits, big-endian
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
	"github.com/netsampler/goflow2/v2/decoders/netflowlegacy"
	"github.com/netsampler/goflow2/v2/decoders/sflow"
)

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var payloads [][]byte
	for len(data) >= 4 {
		size := binary.BigEndian.Uint32(data)
		payloads = append(payloads, data[4:4+size])
		data = data[4+size:]
	}
	templates := netflow.CreateTemplateSystem()
	records := 0
	began := processorSeconds()
	for _, payload := range payloads {
		count, err := decode(payload, templates)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		records += count
	}
	fmt.Println(records, processorSeconds()-began)
}

func processorSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func decode(payload []byte, templates netflow.NetFlowTemplateSystem) (int, error) {
	buffer := bytes.NewBuffer(payload)
	if binary.BigEndian.Uint16(payload) == 0 {
		var packet sflow.Packet
		err := sflow.DecodeMessageVersion(buffer, &packet)
		return len(packet.Samples), err
	}
	if binary.BigEndian.Uint16(payload) == 5 {
		var packet netflowlegacy.PacketNetFlowV5
		err := netflowlegacy.DecodeMessageVersion(buffer, &packet)
		return len(packet.Records), err
	}
	var version9 netflow.NFv9Packet
	var version10 netflow.IPFIXPacket
	err := netflow.DecodeMessageVersion(buffer, templates, &version9, &version10)
	records := 0
	for _, sets := range [][]interface{}{version9.FlowSets, version10.FlowSets} {
		for _, set := range sets {
			if data, ok := set.(netflow.DataFlowSet); ok {
				records += len(data.Records)
			}
		}
	}
	return records, err
}
